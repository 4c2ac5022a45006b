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

/** Records each element that gets the focus, and how it looks then. */
const RECORD = `(() => {
  const look = (element) => {
    const style = getComputedStyle(element)
    const outline = style.outlineStyle === 'none' || style.outlineWidth === '0px' ? 'none' : style.outline
    return [outline, style.boxShadow, style.borderColor, style.backgroundColor, style.textDecoration].join('|')
  }
  const stops = []
  const onFocus = ({ target }) => {
    if (target !== stops.at(-1)?.element) stops.push({ element: target, focused: look(target) })
  }
  document.activeElement?.blur?.()
  document.addEventListener('focusin', onFocus)
  globalThis.keyboardStops = {
    isComplete: () => new Set(stops.map(({ element }) => element)).size < stops.length,
    end: () => {
      document.removeEventListener('focusin', onFocus)
      document.activeElement?.blur?.()
      delete globalThis.keyboardStops
      const all = [...document.querySelectorAll('*')]
      const first = stops.findIndex(({ element }, at) => stops.slice(0, at).some((stop) => stop.element === element))
      return stops.slice(0, first < 0 ? undefined : first).map(({ element, focused }) => {
        const text = element.getAttribute('aria-label') ?? element.innerText ?? element.name ?? ''
        return {
          label: element.tagName.toLowerCase() + ' ' + (element.getAttribute('role') ?? '') + ' "' + text.trim().slice(0, 40) + '"',
          index: all.indexOf(element),
          visible: focused !== look(element),
        }
      })
    },
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

/** Presses of Tab between two looks. */
const PRESSES = 10

/**
 * The elements that the Tab key visits from where the focus is, once around the page. After the last element the focus
 * leaves the page once; a date has fields of its own inside.
 */
const tabStops = async (page: Page, limit: number): Promise<readonly Stop[]> => {
  await page.evaluate(RECORD)
  for (let presses = 0; presses < limit; presses += PRESSES) {
    for (let press = 0; press < PRESSES; press++) await page.keyboard.press('Tab')
    if (await page.evaluate<boolean>('keyboardStops.isComplete()')) break
  }
  return page.evaluate<readonly Stop[]>('keyboardStops.end()')
}

/** Controls that the Tab key does not reach, reaches out of order, or focuses without a visible sign. */
export const keyboardIssues = async (page: Page): Promise<readonly string[]> => {
  const reachable = await page.evaluate<readonly Pick<Stop, 'index' | 'label'>[]>(REACHABLE)
  const stops = await tabStops(page, 2 * reachable.length + 40)
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
