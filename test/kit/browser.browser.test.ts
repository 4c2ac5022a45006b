import { createServer } from 'node:http'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { accessibilityIssues } from './accessibility.ts'
import { openPage, type PageOptions } from './browser.ts'
import { keyboardIssues } from './keyboard.ts'
import { listenFor } from './listen.ts'
import { reflowIssues } from './reflow.ts'

const POLICY = `default-src 'none'; style-src 'self'; script-src 'self'; require-trusted-types-for 'script'; trusted-types lit-html`

const page = (body: string): string =>
  `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><title>Page</title><link rel="stylesheet" href="/style.css"><script src="/page.js" defer></script>${body}`

/** The page shows "Done" when the script is done. */
const program = (script: string): string =>
  `const run = async () => { ${script} }
  run().finally(() => setTimeout(() => (document.querySelector('main') ?? document.body).append('Done')))`

const STYLE = `body { background: #fff; color: #222 } .weak { color: #999 } .under { opacity: .5 } .wide { width: 700px }
button:focus { outline: 2px solid #00f } .plain:focus { outline: none } .panel { background: rgb(0 0 0 / .8); color: #fff }`

const DEFAULT_POLICY = `${POLICY}; img-src data:`
let files: Readonly<Record<string, readonly [type: string, text: string]>> = {}
let policyOfAll = DEFAULT_POLICY
const port = await listenFor(
  t,
  createServer((request, response) => {
    const path = request.url ?? ''
    if (path.startsWith('/status/')) return response.writeHead(Number(path.slice(8))).end()
    const [type, text] = files[path] ?? ['text/html', '']
    const headers = {
      'content-type': type,
      'content-security-policy': policyOfAll,
      'cache-control': 'no-store',
    }
    response.writeHead(200, headers).end(text)
  }),
)

/** Opens a page with this body; `end` runs what its test does when it ends. */
const visit = async (
  t: Test,
  body: string,
  {
    script = '',
    policy = DEFAULT_POLICY,
    ...options
  }: PageOptions & { script?: string; policy?: string } = {},
): Promise<{ page: Page; end: () => Promise<void> }> => {
  policyOfAll = policy
  files = {
    '/': ['text/html', page(body)],
    '/page.js': ['text/javascript', program(script)],
    '/style.css': ['text/css', STYLE],
  }
  const ends: (() => unknown)[] = []
  const end = async () => {
    for (const end of ends.splice(0)) await end()
  }
  t.teardown(() => end().catch(() => {}))
  const opened = await openPage(
    { name: t.name, passing: () => true, teardown: (end: () => unknown) => void ends.push(end) },
    `http://127.0.0.1:${port}`,
    options,
  )
  await opened.goto('/')
  return { page: opened, end }
}

const GOOD = `<main><h1>Tokens</h1><h2>Search</h2><label>Term <input></label> <button>Search</button>
<p class="panel">A panel</p><table><caption>Tokens</caption><tr><th scope="col">Id</th></tr></table></main>`

t.test('a page without issues passes all checks', async (t) => {
  const { page, end } = await visit(t, GOOD)
  t.same(await accessibilityIssues(page), [])
  t.same(await keyboardIssues(page), [])
  t.same(await reflowIssues(page), [])
  await t.resolves(end())
})

t.test('a page is rejected at the end of its test', async (t) => {
  const cases: Readonly<
    Record<string, { expected: RegExp; body?: string; script?: string; policy?: string }>
  > = {
    'for an inline style': { body: '<p style="color: red">x</p>', expected: /console error: .*style/ },
    'for an inline script': {
      body: '<script>1</script>',
      expected: /content security policy: script-src-elem/,
    },
    'for a handler in an attribute': {
      body: '<img src="data:," onerror="alert(1)">',
      expected: /script-src-attr/,
    },
    'for HTML from a text': {
      script: `try { document.body.innerHTML = '<b>x</b>' } catch {}`,
      expected: /require-trusted-types-for/,
    },
    'for an error of a script': {
      script: `setTimeout(() => { throw new Error('boo') })`,
      expected: /page error: Error: boo/,
    },
    'for a printed error': { script: `console.error('boo')`, expected: /console error: boo/ },
    'for a rejected promise': {
      script: `throw new Error('boo')`,
      expected: /page error: Error: boo/,
    },
    'for a request to another origin': {
      script: `await fetch('http://127.0.0.1:9/').catch(() => {})`,
      policy: `script-src 'self'; style-src 'self'; connect-src *`,
      expected: /request to another origin: http:\/\/127\.0\.0\.1:9\//,
    },
    'for a status from 500': {
      script: `await fetch('/status/503')`,
      policy: `script-src 'self'; style-src 'self'; connect-src 'self'`,
      expected: /status 503: GET/,
    },
  }
  for (const [name, { expected, body = '', script = '', policy }] of Object.entries(cases))
    await t.test(name, async (t) => {
      const { page, end } = await visit(t, `<main>${body}</main>`, {
        script,
        ...(policy === undefined ? {} : { policy }),
      })
      await page.getByText('Done').waitFor()
      await t.rejects(end(), { message: expected })
    })
})

t.test('statuses below 500, and those that a test expects, are not errors', async (t) => {
  const { page, end } = await visit(t, '<main></main>', {
    script: `await Promise.all([fetch('/status/403'), fetch('/status/503')])`,
    policy: `script-src 'self'; style-src 'self'; connect-src 'self'`,
    expectedStatuses: [503],
  })
  await page.getByText('Done').waitFor()
  await t.resolves(end())
})

t.test('accessibility issues are found', async (t) => {
  const cases: Readonly<Record<string, RegExp>> = {
    '<main><h1>A</h1><button></button></main>': /^no name: button/,
    '<main><h1>A</h1><input placeholder="Term"></main>': /^named by its placeholder only: textbox/,
    '<main><h1>A</h1><dialog open>x</dialog></main>': /^no name: dialog/,
    '<main><h1>A</h1><table><tr><th>x</th></tr><tr><td>y</td></tr></table></main>': /^no name: table/,
    '<main><h2>A</h2></main>': /^0 headings of level 1/,
    '<main><h1>A</h1><h1>B</h1></main>': /^2 headings of level 1/,
    '<main><h1>A</h1><h3>B</h3></main>': /^heading "B" of level 3 after level 1/,
    '<h1>A</h1>': /^0 main landmarks/,
    '<main><h1>A</h1><p role="foo">x</p></main>': /^unknown role "foo"/,
    '<main><h1>A</h1><p tabindex="2">x</p></main>': /^tabindex above 0/,
    '<main><h1>A</h1><p id="a">x</p><p id="a">x</p></main>': /^id "a" is used twice/,
    '<main><h1>A</h1><p aria-describedby="b">x</p></main>': /^aria-describedby names "b"/,
    '<main><h1>A</h1><p class="weak">x</p></main>': /^contrast 2\.85 of "x", below 4\.5: body > main > p/,
    '<main><h1>A</h1><div class="under"><p>x</p></div></main>': /^contrast 3\.\d+ of "x"/,
    '<main><h1>A</h1><div class="panel"><p class="weak">x</p></div></main>': /^contrast 4\.4\d of "x"/,
  }
  for (const [body, expected] of Object.entries(cases)) {
    const { page, end } = await visit(t, body)
    const issues = await accessibilityIssues(page)
    t.equal(issues.length, 1, body)
    t.match(issues[0], expected)
    await end()
  }
})

t.test('keyboard and width issues are found', async (t) => {
  const { page } = await visit(
    t,
    '<main><button>A</button><button class="plain">B</button><p class="wide">wide</p></main>',
  )
  t.same(await keyboardIssues(page), ['no visible focus on button  "B"'])
  t.match(await reflowIssues(page), [
    /7\d\d px wide in a window of 390 px/,
    /7\d\d px wide in a window of 640 px/,
  ])
})

t.test('Tab reaches every control', async (t) => {
  const { page } = await visit(t, '<main><button>A</button><div><button>B</button></div></main>', {
    script: `onkeydown = (event) => { if (document.activeElement.innerText === 'A') event.preventDefault() }`,
  })
  t.same(await keyboardIssues(page), ['Tab does not reach button  "B"'])
})
