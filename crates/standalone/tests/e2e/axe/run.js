// Behind the text of axe-core: what it finds serious or worse on the page as it stands, in sentences.
const isSerious = ({ impact }) => impact === 'serious' || impact === 'critical'
const say = ({ id, help, nodes }) => nodes.map(({ html }) => `breaks ${id} (${help}): ${html.slice(0, 120)}`)
return axe.run(document, { resultTypes: ['violations'] }).then(({ violations, passes }) => {
  // A check that checked nothing is none.
  if (!passes.length) return ['is not seen by axe-core']
  return violations.filter(isSerious).flatMap(say)
})
