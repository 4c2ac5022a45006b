import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { accessibilityIssues } from './accessibility.ts'
import { keyboardIssues } from './keyboard.ts'
import { reflowIssues } from './reflow.ts'

/** Asserts that the page, as it is now, has no issue of names, roles, headings, references and contrast. */
export const expectAccessible = async (t: Test, page: Page): Promise<void> => {
  t.same(await accessibilityIssues(page), [], 'accessible names, roles, headings, references and contrast')
}

/** `expectAccessible`, and that the page can be used by keyboard, on a phone and at 200 % zoom. */
export const expectOperable = async (t: Test, page: Page): Promise<void> => {
  await expectAccessible(t, page)
  t.same(await reflowIssues(page), [], 'no sideways scrolling on a phone and at 200 % zoom')
  t.same(await keyboardIssues(page), [], 'each control is reached by Tab, in order, with a visible focus')
}
