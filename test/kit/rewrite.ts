import type { Page } from 'playwright-core'

/** Changes the JSON of responses to the console's calls of the API. Before the page signs in. */
export const rewriteResponses = (
  page: Page,
  change: (json: unknown, path: string) => unknown,
): Promise<unknown> =>
  page.route('**/console/api/**', async (route) => {
    // A request of Playwright's lacks what the browser says about its origin.
    const headers = { ...(await route.request().allHeaders()), 'sec-fetch-site': 'same-origin' }
    const response = await route.fetch({ headers })
    const json: unknown = await response.json().catch(() => undefined)
    const { pathname } = new URL(route.request().url())
    return json === undefined
      ? route.fulfill({ response })
      : route.fulfill({ response, json: change(json, pathname) })
  })
