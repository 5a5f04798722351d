// Returns what is wrong with the current page, in sentences. The argument is the width at which it is shown.
// Animations are finished first.
for (const animation of document.getAnimations()) animation.finish()
const width = arguments[0]
const wrong = []
const all = (selector) => [...document.querySelectorAll(selector)]
const isShown = (element) => element.getClientRects().length > 0
const say = (element) => element.outerHTML.slice(0, 120)

// Nothing is loaded from elsewhere.
for (const { name } of performance.getEntries()) {
  if (/^https?:/.test(name) && new URL(name).origin !== location.origin) wrong.push(`loads ${name}`)
}
for (const image of all('img')) if (!image.naturalWidth) wrong.push(`does not decode ${say(image)}`)

// Assistive technology can read it.
if (!document.documentElement.lang) wrong.push('has no language')
if (!document.title) wrong.push('has no title')
if (all('h1').length !== 1) wrong.push(`has ${all('h1').length} main headings`)
if (all('main').length !== 1) wrong.push('has no one main part')
for (const field of all('input:not([type=hidden]), select, textarea')) {
  if (!field.labels.length) wrong.push(`does not name ${say(field)}`)
}
for (const named of all('a, button, [role=img]')) {
  if (!(named.textContent.trim() || named.ariaLabel)) wrong.push(`does not name ${say(named)}`)
}
for (const image of all('img:not([alt])')) wrong.push(`does not describe ${say(image)}`)
for (const field of all('[aria-describedby]')) {
  for (const id of field.getAttribute('aria-describedby').split(' ')) {
    if (!document.getElementById(id)) wrong.push(`describes a field by ${id}, which is not there`)
  }
}
const ids = all('[id]').map((element) => element.id)
for (const id of new Set(ids)) {
  if (ids.filter((other) => other === id).length > 1) wrong.push(`has ${id} more than once`)
}
for (const element of all('[tabindex]:not([tabindex="0"]), [accesskey]')) wrong.push(`reorders ${say(element)}`)

// It fits the width, and targets are large enough for a finger (WCAG 2.2, 2.5.8).
const needed = document.documentElement.scrollWidth
if (needed > width) wrong.push(`is ${needed} px wide on ${width}`)
for (const target of all('button, a.button, input:not([type=hidden]), select, textarea')) {
  if (isShown(target) && target.getBoundingClientRect().height < 17) wrong.push(`is tiny: ${say(target)}`)
}

// Text contrasts with its background (1.4.3), and so do the borders of fields (1.4.11).
const parts = (color) => color.match(/[\d.]+/g).map(Number)
const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
const light = ([r, g, b]) =>
  0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255)
const contrast = (a, b) => {
  const [high, low] = [light(a), light(b)].sort((x, y) => y - x)
  return (high + 0.05) / (low + 0.05)
}
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const color = parts(getComputedStyle(at).backgroundColor)
    if (color.length === 3 || color[3] === 1) return color
  }
  return parts(getComputedStyle(document.body).backgroundColor)
}
const check = (element, color, background, least) => {
  const ratio = contrast(parts(color), background)
  if (ratio < least) wrong.push(`has a contrast of ${ratio.toFixed(1)}: ${say(element)}`)
}
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
while (texts.nextNode()) {
  const element = texts.currentNode.parentElement
  if (!texts.currentNode.textContent.trim() || !isShown(element)) continue
  const style = getComputedStyle(element)
  const size = parseFloat(style.fontSize)
  const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700)
  check(element, style.color, behind(element), isLarge ? 3 : 4.5)
}
for (const field of all('input:not([type=hidden], [type=file], [type=checkbox], [type=radio]), select, textarea')) {
  if (!isShown(field)) continue
  const style = getComputedStyle(field)
  check(field, style.color, behind(field), 4.5)
  check(field, style.borderTopColor, behind(field.parentElement), 3)
}
return wrong
