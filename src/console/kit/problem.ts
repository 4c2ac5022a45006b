import { type ApiError, asApiError } from '../api/problem.ts'
import { reopen } from '../navigation.ts'
import { button } from './button.ts'
import { html, nothing, type TemplateResult } from './html.ts'

const sentenceOf = ({ status, title, detail, retryAfter }: ApiError): readonly [string, string] => {
  if (status === 401) return ['You are signed out', 'Sign in again to continue.']
  if (status === 403) return ['This key may not do this', detail]
  if (status === 404) return ['Not found', detail]
  if (status === 412) return ['Nothing was saved', detail]
  if (status === 429)
    return ['Too many calls', `${detail}${retryAfter === undefined ? '' : ` Retry in ${retryAfter} s.`}`]
  if (status === 503) return ['Sidevault is not ready', detail]
  return [title, detail]
}

/** An error as a block: title, sentence, code with its documentation, trace id. `retry`: a button. */
export const problem = (thrown: unknown, retry?: () => void): TemplateResult => {
  const error = asApiError(thrown)
  const [title, sentence] = sentenceOf(error)
  const isOutdated = error.status === 412
  return html`<div class="problem" role="alert">
    <h2>${title}</h2>
    <p>${sentence}</p>
    <p class="small soft">
      ${error.code === '' ? nothing : errorLink(error.code)}
      ${error.traceId === undefined ? nothing : html`<span>Trace id <code>${error.traceId}</code></span>`}
    </p>
    ${isOutdated ? button('Reload', reopen) : retry === undefined || error.status === 403 ? nothing : button('Retry', retry)}
  </div>`
}

/** The documentation of an error's code. */
export const errorLink = (code: string): TemplateResult =>
  /^[a-z_]{1,60}$/.test(code)
    ? html`<a href=${`/docs/errors#${code}`} target="_blank" rel="noopener"><code>${code}</code></a>`
    : html`<code>${code}</code>`
