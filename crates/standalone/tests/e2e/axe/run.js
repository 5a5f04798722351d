// Follows the source of axe-core: returns its serious and critical findings on the current page, in sentences.
const isSerious = ({ impact }) => impact === 'serious' || impact === 'critical'
const say = ({ id, help, nodes }) => nodes.map(({ html }) => `breaks ${id} (${help}): ${html.slice(0, 120)}`)
return axe.run(document, { resultTypes: ['violations'] }).then(({ violations, passes }) => {
  // A run without any check is a failure.
  if (!passes.length) return ['is not seen by axe-core']
  return violations.filter(isSerious).flatMap(say)
})
