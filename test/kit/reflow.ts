import type { Page } from 'playwright-core'

/** CSS pixels of a window of 1280 pixels at 200 % zoom. */
const ZOOMED = 640
const PHONE = 390

/** Where the page scrolls sideways: at a phone's width, or at 200 % zoom. Wide tables scroll in a box of their own. */
export const reflowIssues = async (page: Page): Promise<readonly string[]> => {
  const before = page.viewportSize()
  const issues: string[] = []
  for (const width of [PHONE, ZOOMED]) {
    await page.setViewportSize({ width, height: 800 })
    const wide = await page.evaluate<number>(`document.documentElement.scrollWidth`)
    if (wide > width) issues.push(`${wide} px wide in a window of ${width} px`)
  }
  if (before !== null) await page.setViewportSize(before)
  return issues
}
