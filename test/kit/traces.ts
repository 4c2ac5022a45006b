import type { Page } from 'playwright-core'

/** Everything of a page that a script or an extension could read, by place. */
const PLACES = `(async () => {
  const stored = (storage) => Object.entries({ ...storage }).flat().join('\\n')
  const databases = await Promise.all(
    (await indexedDB.databases()).map(({ name }) => name),
  )
  const caches_ = globalThis.caches === undefined ? [] : await caches.keys()
  const controls = [...document.querySelectorAll('input, textarea, select, output')]
  return {
    'the document': new XMLSerializer().serializeToString(document),
    'its text': document.documentElement.textContent,
    'controls': controls.map(({ value, defaultValue }) => value + '\\n' + defaultValue).join('\\n'),
    'localStorage': stored(localStorage),
    'sessionStorage': stored(sessionStorage),
    'IndexedDB': databases.join('\\n'),
    'the caches': caches_.join('\\n'),
    'the address': location.href,
    'the state of the history': JSON.stringify(history.state),
    'the title': document.title,
    'the name of the window': window.name,
    'cookies of scripts': document.cookie,
    'the selection': String(getSelection()),
    'names of resources': performance.getEntries().map(({ name }) => name).join('\\n'),
  }
})()`

/** Places of the page, and of what the browser stores for it, that hold the text. */
export const tracesOf = async (page: Page, text: string): Promise<readonly string[]> => {
  const places = await page.evaluate<Readonly<Record<string, string>>>(PLACES)
  const session = await page.context().newCDPSession(page)
  const [tree, history, cookies] = [
    await session.send('Accessibility.getFullAXTree'),
    await session.send('Page.getNavigationHistory'),
    await page.context().cookies(),
  ]
  await session.detach()
  const all = {
    ...places,
    'the accessibility tree': JSON.stringify(tree),
    'the history': JSON.stringify(history),
    cookies: JSON.stringify(cookies),
  }
  return Object.entries(all)
    .filter(([, found]) => found.includes(text))
    .map(([place]) => place)
}
