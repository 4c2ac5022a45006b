import { codeCheck } from '../../kit/code-check.ts'
import { action, field, formProblem, issue } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { notice } from '../../kit/notice.ts'
import { computed, signal } from '../../kit/signals.ts'
import { confirmReplacing, storedCode } from '../../kit/stored-code.ts'
import { may } from '../../session.ts'
import type { ProxyPage, Transforms } from './types.ts'

const SAMPLE = `module.exports = async ({ args, configuration }) => ({
  body: args.body,
  headers: args.headers,
})
`

const KINDS = ['request_transform', 'response_transform'] as const

/** Editors of a proxy's transforms. */
export const codeSection = ({ context, proxy, fresh, patch }: ProxyPage): (() => TemplateResult) => {
  const { id } = proxy.peek()
  const codeOf = (of: Transforms, kind: (typeof KINDS)[number]) => of[kind]?.code ?? ''
  const [request, response] = [
    storedCode(
      { id: `${id}-request`, label: 'Request transform' },
      () => codeOf(proxy.value, 'request_transform'),
      context.signal,
    ),
    storedCode(
      { id: `${id}-response`, label: 'Response transform' },
      () => codeOf(proxy.value, 'response_transform'),
      context.signal,
    ),
  ]
  const editors = { request_transform: request, response_transform: response }
  /** Undefined: as stored. */
  const otherwise = signal<'fail' | 'pass' | undefined>(undefined)
  const isOtherwiseChanged = computed(
    () =>
      otherwise.value !== undefined &&
      otherwise.value !== (proxy.value.response_transform?.otherwise ?? 'fail') &&
      response.text.value !== '',
  )
  const isChanged = computed(
    () => request.isChanged.value || response.isChanged.value || isOtherwiseChanged.value,
  )
  const check = codeCheck({
    ...context,
    path: '/proxies/check-code',
    body: () => {
      const codes = KINDS.flatMap((kind) => {
        const code = editors[kind].text.value
        return code === '' ? [] : [[kind, { code }] as const]
      })
      return codes.length === 0 ? undefined : Object.fromEntries(codes)
    },
  })
  const save = action(async () => {
    if (!(await check.confirm())) return
    const now = await fresh()
    const codes = KINDS.map((kind) => ({ code: editors[kind], now: codeOf(now, kind) }))
    if (!(await confirmReplacing(codes.filter(({ code }) => code.isChanged.peek())))) return
    const changed = KINDS.filter((kind) => editors[kind].isChanged.peek()).map((kind) => {
      const code = editors[kind].value()
      return [kind, code === '' ? null : { code }] as const
    })
    const changes: Record<string, object | null> = Object.fromEntries(changed)
    if (isOtherwiseChanged.peek())
      changes.response_transform = { ...changes.response_transform, otherwise: otherwise.peek() }
    try {
      await patch(changes)
    } catch (thrown) {
      check.learn(thrown)
      throw thrown
    }
    otherwise.value = undefined
    notice('done', 'Code saved. It runs from the next request on.')
  })
  const discard = () => {
    request.discard()
    response.discard()
    otherwise.value = undefined
  }

  return () => {
    const isReadonly = !may('proxy:update')
    const error = save.error.value
    return html`
      ${formProblem(
        error,
        KINDS.map((kind) => `${kind}.code`),
      )}
      <form @submit=${save.run}>
        ${KINDS.map((kind) =>
          editors[kind].view({
            problems: check.problems(`${kind}.code`),
            error: issue(error, `${kind}.code`),
            readonly: isReadonly,
          }),
        )}
        ${
          request.text.value === '' && response.text.value === '' && !isReadonly
            ? html`<p class="soft">
                No code: requests and responses pass as they are.
                <button
                  type="button"
                  class="plain"
                  @click=${() => {
                    request.text.value = SAMPLE
                  }}
                >
                  Begin with a sample
                </button>
              </p>`
            : nothing
        }
        ${
          response.text.value === ''
            ? nothing
            : field({
                label: 'A successful response that is neither JSON nor a form',
                control: html`<select
                  ?disabled=${isReadonly}
                  @change=${(event: Event) => {
                    otherwise.value = (event.target as HTMLSelectElement).value === 'pass' ? 'pass' : 'fail'
                  }}
                >
                  ${(['fail', 'pass'] as const).map(
                    (one) => html`<option
                      value=${one}
                      .selected=${one === (otherwise.value ?? proxy.value.response_transform?.otherwise ?? 'fail')}
                    >${one === 'fail' ? 'fails with 502' : 'goes to the caller unchanged'}</option>`,
                  )}
                </select>`,
              })
        }
        ${
          isReadonly
            ? nothing
            : html`<div class="buttons">
                <button class="primary" ?disabled=${!isChanged.value || save.busy.value}>Save code</button>
                ${
                  isChanged.value
                    ? html`<button type="button" @click=${discard}>Discard changes</button>
                        <span class="soft">Not saved yet</span>`
                    : nothing
                }
              </div>`
        }
      </form>
    `
  }
}
