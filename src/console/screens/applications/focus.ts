/** Focuses the first of these ids that can have it, after the page was rendered. */
export const focus = (...ids: readonly string[]): void => {
  for (const id of ids) {
    const element = document.getElementById(id)
    if (element === null || (element instanceof HTMLButtonElement && element.disabled)) continue
    element.focus()
    return
  }
}
