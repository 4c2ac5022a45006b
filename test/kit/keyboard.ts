import type { Page } from 'playwright-core'

/** An element that got the focus by the Tab key. */
interface Stop {
  /** Tag, role and text, for messages. */
  readonly label: string
  /** Its place among all elements of the page. */
  readonly index: number
  /** True if focus changes its outline, shadow, border or background. */
  readonly visible: boolean
}

/**
 * Finds the focused element, and compares how it looks with and without the focus. `focus-visible` depends on how the
 * focus came, so it gets it back with `focusVisible`.
 */
const INSPECT = `(() => {
  const element = document.activeElement
  if (element === null || element === document.body || element === document.documentElement) return null
  const look = () => {
    const style = getComputedStyle(element)
    const outline = style.outlineStyle === 'none' || style.outlineWidth === '0px' ? 'none' : style.outline
    return [outline, style.boxShadow, style.borderColor, style.backgroundColor, style.textDecoration].join('|')
  }
  const focused = look()
  // A date has fields of its own inside, which Tab visits: it retains the focus.
  const isDate = /^(date|time|month|week|datetime-local)$/.test(element.type ?? '')
  if (!isDate) element.blur()
  const blurred = isDate ? 'none' : look()
  if (!isDate) element.focus({ focusVisible: true, preventScroll: true })
  const text = element.getAttribute('aria-label') ?? element.innerText ?? element.name ?? ''
  return {
    label: element.tagName.toLowerCase() + ' ' + (element.getAttribute('role') ?? '') + ' "' + text.trim().slice(0, 40) + '"',
    index: [...document.querySelectorAll('*')].indexOf(element),
    visible: isDate ? !focused.startsWith('none|none|') : focused !== blurred,
  }
})()`

/** Elements that a keyboard must reach. Of a group of radio buttons it reaches one. */
const REACHABLE = `(() => {
  const all = [...document.querySelectorAll('*')]
  const dialog = [...document.querySelectorAll('dialog:modal')].at(-1)
  return [...document.querySelectorAll('a[href], button, input:not([type=hidden], [type=radio]), select, textarea, summary, [tabindex="0"]')]
    .filter((element) => dialog === undefined || dialog.contains(element))
    .filter((element) => !element.disabled && element.tabIndex >= 0 && element.checkVisibility({ visibilityProperty: true }))
    .map((element) => ({ index: all.indexOf(element), label: element.tagName.toLowerCase() + ' "' + (element.innerText ?? element.name ?? '').trim().slice(0, 40) + '"' }))
})()`

/** The elements that the Tab key visits from where the focus is, once around the page, at most `limit`. */
const tabStops = async (page: Page, limit = 200): Promise<readonly Stop[]> => {
  await page.evaluate(`document.activeElement?.blur?.()`)
  const stops: Stop[] = []
  let turns = 0
  let inside = 0
  while (stops.length < limit) {
    await page.keyboard.press('Tab')
    const stop = await page.evaluate<Stop | null>(INSPECT)
    if (stop !== null && stop.index === stops.at(-1)?.index && ++inside < limit) continue
    // After the last element the focus leaves the page once. It then comes to the first one.
    if (stop === null ? ++turns === 2 : stops.some(({ index }) => index === stop.index)) break
    if (stop !== null) stops.push(stop)
  }
  return stops
}

/** Controls that the Tab key does not reach, reaches out of order, or focuses without a visible sign. */
export const keyboardIssues = async (page: Page): Promise<readonly string[]> => {
  const reachable = await page.evaluate<readonly Pick<Stop, 'index' | 'label'>[]>(REACHABLE)
  const stops = await tabStops(page, reachable.length + 20)
  // The first stop may be in the middle of the page.
  const start = stops.reduce((least, { index }, at) => (index < (stops[least]?.index ?? 0) ? at : least), 0)
  const turned = [...stops.slice(start), ...stops.slice(0, start)]
  return [
    ...reachable
      .filter(({ index }) => !stops.some((stop) => stop.index === index))
      .map(({ label }) => `Tab does not reach ${label}`),
    ...turned
      .filter(({ index }, at) => at > 0 && index < (turned[at - 1]?.index ?? 0))
      .map(({ label }) => `Tab reaches ${label} out of order`),
    ...stops.filter(({ visible }) => !visible).map(({ label }) => `no visible focus on ${label}`),
  ]
}
