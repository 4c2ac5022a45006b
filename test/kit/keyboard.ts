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
 * Finds the elements that a keyboard must reach (of a group of radio buttons it reaches one), and records each element
 * that gets the focus, and how it looks then.
 */
const RECORD = `(() => {
  const look = (element) => {
    const style = getComputedStyle(element)
    const outline = style.outlineStyle === 'none' || style.outlineWidth === '0px' ? 'none' : style.outline
    return [outline, style.boxShadow, style.borderColor, style.backgroundColor, style.textDecoration].join('|')
  }
  const label = (element) => {
    const text = element.getAttribute('aria-label') ?? element.innerText ?? element.name ?? ''
    return element.tagName.toLowerCase() + ' ' + (element.getAttribute('role') ?? '') + ' "' + text.trim().slice(0, 40) + '"'
  }
  const dialog = [...document.querySelectorAll('dialog:modal')].at(-1)
  const all = () => [...document.querySelectorAll('a[href], button, input:not([type=hidden], [type=radio]), select, textarea, summary, [tabindex="0"]')]
    .filter((element) => dialog === undefined || dialog.contains(element))
    .filter((element) => !element.disabled && element.tabIndex >= 0 && element.checkVisibility({ visibilityProperty: true }))
  const reachable = all()
  const isSame = () => {
    const now = all()
    return now.length === reachable.length && now.every((element, at) => element === reachable[at])
  }
  const stops = new Map()
  const onFocus = ({ target }) => { if (!stops.has(target)) stops.set(target, look(target)) }
  const unreached = () => reachable.filter((element) => element.isConnected && !stops.has(element))
  document.activeElement?.blur?.()
  document.addEventListener('focusin', onFocus)
  globalThis.keyboardStops = {
    count: reachable.length,
    isComplete: () => unreached().length === 0,
    end: () => {
      document.removeEventListener('focusin', onFocus)
      document.activeElement?.blur?.()
      delete globalThis.keyboardStops
      const elements = [...document.querySelectorAll('*')]
      return {
        isSame: isSame(),
        unreached: unreached().map(label),
        stops: [...stops].filter(([element]) => element.isConnected).map(([element, focused]) =>
          ({ label: label(element), index: elements.indexOf(element), visible: focused !== look(element) })),
      }
    },
  }
})()`

/** Presses of Tab between two looks. */
const PRESSES = 10

/** Walks around a page whose controls change, which moves the focus: a screen with live data. */
const WALKS = 3

/** Controls that the Tab key does not reach, reaches out of order, or focuses without a visible sign. */
export const keyboardIssues = async (page: Page, walks = WALKS): Promise<readonly string[]> => {
  await page.evaluate(RECORD)
  // Twice around the page, where a page that is drawn again loses the focus; a date has fields of its own inside.
  const limit = 2 * (await page.evaluate<number>('keyboardStops.count')) + 40
  for (let presses = 0; presses < limit; presses += PRESSES) {
    for (let press = 0; press < PRESSES; press++) await page.keyboard.press('Tab')
    if (await page.evaluate<boolean>('keyboardStops.isComplete()')) break
  }
  const { isSame, unreached, stops } = await page.evaluate<{
    readonly isSame: boolean
    readonly unreached: readonly string[]
    readonly stops: readonly Stop[]
  }>('keyboardStops.end()')
  if (!isSame && walks > 1) return keyboardIssues(page, walks - 1)
  // The first stop may be in the middle of the page.
  const start = stops.reduce((least, { index }, at) => (index < (stops[least]?.index ?? 0) ? at : least), 0)
  const turned = [...stops.slice(start), ...stops.slice(0, start)]
  return [
    ...unreached.map((label) => `Tab does not reach ${label}`),
    ...turned
      .filter(({ index }, at) => at > 0 && index < (turned[at - 1]?.index ?? 0))
      .map(({ label }) => `Tab reaches ${label} out of order`),
    ...stops.filter(({ visible }) => !visible).map(({ label }) => `no visible focus on ${label}`),
  ]
}
