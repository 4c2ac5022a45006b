import { ApiError, path as pathOf } from '../../api/client.ts'
import { codeEditor } from '../../kit/code-editor.ts'
import type { EntityPage } from '../../kit/entity-screen.ts'
import { action } from '../../kit/form.ts'
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

  const start = (inBackground: boolean) =>
    action(async () => {
      const { value, error } = parseObject(editor.text.peek())
      invalid.value = error
      outcome.value = undefined
      if (value === undefined) return
      const started = performance.now()
      const body = { args: value }
      if (!inBackground) {
        const ran = await api.call<Outcome>('POST', `${path}/react`, { body, signal: within })
        outcome.value = { value: ran, ms: performance.now() - started }
        notice('done', 'The reactor ran.')
        return
      }
      const accepted = await api.call<{ asyncReactorRequestId: string }>('POST', `${path}/react-async`, {
        body,
        signal: within,
      })
      const ran = await result(accepted.asyncReactorRequestId)
      outcome.value = { value: ran, ms: performance.now() - started }
      notice('done', 'The reactor ran in the background.')
    })
  const [run, runInBackground] = [start(false), start(true)]

  const resultView = (): TemplateResult | typeof nothing => {
    const shown = outcome.value
    if (shown === undefined) return nothing
    const { error, ...returned } = shown.value
    return html`<h3>Result</h3>
      <p class="soft">After ${milliseconds(shown.ms)}.</p>
      ${error === undefined ? html`<pre tabindex="0" aria-label="Result">${JSON.stringify(returned, null, 2)}</pre>` : problem(new ApiError(error))}
      <div class="buttons">
        <button
          type="button"
          @click=${() => {
            outcome.value = undefined
          }}
        >
          Clear
        </button>
      </div>`
  }

  return () => {
    const error = run.error.value ?? runInBackground.error.value
    const isBusy = run.busy.value || runInBackground.busy.value
    return html`
      <form @submit=${(event: Event) => {
        runInBackground.reset()
        void run.run(event)
      }}>
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
          <button type="button" ?disabled=${isBusy} @click=${(event: Event) => {
            run.reset()
            void runInBackground.run(event)
          }}>
            ${runInBackground.busy.value ? 'Waiting for its result …' : 'Run in the background'}
          </button>
        </div>
      </form>
      ${
        error === undefined
          ? nothing
          : html`${problem(error)}
              <ul class="issues">
                ${Object.entries(error.issues).map(([place, sentences]) => html`<li><code>${place}</code> ${sentences.join(' ')}</li>`)}
              </ul>`
      }
      ${resultView()}
    `
  }
}
