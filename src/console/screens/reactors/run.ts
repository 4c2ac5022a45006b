import { ApiError, path as pathOf } from '../../api/client.ts'
import { button } from '../../kit/button.ts'
import { codeEditor } from '../../kit/code-editor.ts'
import type { EntityPage } from '../../kit/entity-screen.ts'
import { action, formProblem } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { objectText, parseObject } from '../../kit/json-object.ts'
import { notice } from '../../kit/notice.ts'
import { milliseconds } from '../../kit/numbers.ts'
import { problem } from '../../kit/problem.ts'
import { signal } from '../../kit/signals.ts'
import { table } from '../../kit/table.ts'
import { sessionResult } from '../../session.ts'
import type { Outcome, Reactor } from './types.ts'
import { sampleArguments } from './values.ts'

/** ms between two looks for a result of the background. */
const LOOK_MS = 1_000
/** Looks until a result of the background is no longer waited for: a run takes 30 s at most. */
const MAX_LOOKS = 60

/** Runs a reactor with arguments, and shows what it returned. */
export const runSection = ({ context, stored, path }: EntityPage<Reactor>): (() => TemplateResult) => {
  const { api, signal: within } = context
  const parameters = stored.peek().formula?.request_parameters ?? []
  const editor = codeEditor({
    id: 'arguments',
    label: 'Arguments (JSON)',
    text: objectText(sampleArguments(parameters)),
  })
  const invalid = signal<string | undefined>(undefined)
  const outcome = sessionResult<{ readonly value: Outcome; readonly ms: number }>(within)

  const result = async (requestId: string): Promise<Outcome> => {
    for (let look = 0; look < MAX_LOOKS; look++) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
      within.throwIfAborted()
      try {
        return await api.call('GET', path + pathOf`/results/${requestId}`, { signal: within })
      } catch (thrown) {
        // It is 404 until it is ready.
        if (!(thrown instanceof ApiError) || thrown.status !== 404) throw thrown
      }
    }
    throw new ApiError({
      title: 'No result yet',
      detail: `Ask for the result of request "${requestId}" later.`,
    })
  }

  const post = <T>(where: string, body: object) =>
    api.call<T>('POST', `${path}/${where}`, { body, signal: within })
  const running = (send: (body: object) => Promise<Outcome>, done: string) =>
    action(async () => {
      const { value: args, error } = parseObject(editor.text.peek())
      invalid.value = error
      outcome.value = undefined
      if (args === undefined) return
      const started = performance.now()
      outcome.value = { value: await send({ args }), ms: performance.now() - started }
      notice('done', done)
    })
  const run = running((body) => post('react', body), 'The reactor ran.')
  const runInBackground = running(async (body) => {
    const accepted = await post<{ readonly asyncReactorRequestId: string }>('react-async', body)
    return result(accepted.asyncReactorRequestId)
  }, 'The reactor ran in the background.')
  /** Starts a run in place of the other, whose error is not shown any more. */
  const start = (own: typeof run, other: typeof run) => (event: Event) => {
    other.reset()
    return own.run(event)
  }

  const resultView = (): TemplateResult | typeof nothing => {
    const shown = outcome.value
    if (shown === undefined) return nothing
    const { error, ...returned } = shown.value
    return html`<h3>Result</h3>
      <p class="soft">After ${milliseconds(shown.ms)}.</p>
      ${error === undefined ? html`<pre tabindex="0" aria-label="Result">${JSON.stringify(returned, null, 2)}</pre>` : problem(new ApiError(error))}
      <div class="buttons">
        ${button('Clear', () => {
          outcome.value = undefined
        })}
      </div>`
  }

  return () => {
    const error = run.error.value ?? runInBackground.error.value
    const isBusy = run.busy.value || runInBackground.busy.value
    return html`
      <form @submit=${start(run, runInBackground)}>
        ${
          parameters.length === 0
            ? nothing
            : table({
                caption: 'Arguments of the formula',
                rows: parameters,
                columns: [
                  { head: 'Argument', cell: ({ name }) => html`<code>${name}</code>` },
                  { head: 'Type', cell: ({ type }) => type },
                  { head: 'Needed', cell: ({ optional }) => (optional ? 'optional' : 'required') },
                  { head: 'Description', kind: 'wide', cell: ({ description }) => description },
                ],
              })
        }
        ${editor.view({ error: invalid.value })}
        <p class="soft">A token's expression stands for its value: <code>"{{ id }}"</code>. It runs as the private key that is signed in.</p>
        <div class="buttons">
          <button class="primary" ?disabled=${isBusy}>${run.busy.value ? 'Running …' : 'Run'}</button>
          ${button(
            runInBackground.busy.value ? 'Waiting for its result …' : 'Run in the background',
            start(runInBackground, run),
            { disabled: isBusy },
          )}
        </div>
      </form>
      ${formProblem(error)}
      ${resultView()}
    `
  }
}
