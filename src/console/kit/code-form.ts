import { may } from '../session.ts'
import { button } from './button.ts'
import { codeCheck } from './code-check.ts'
import type { EntityPage } from './entity-screen.ts'
import { action, formProblem, issue } from './form.ts'
import { html, nothing, type TemplateResult } from './html.ts'
import { notice } from './notice.ts'
import { saveLatest } from './save-latest.ts'
import { computed } from './signals.ts'
import { confirmOverwrite, type StoredCode, storedCode } from './stored-code.ts'

/** A member of an entity that holds code. */
interface CodeMember<T> {
  /** Path of the member in checks, warnings and issues: `request_transform.code`. */
  readonly place: string
  readonly label: string
  readonly codeOf: (stored: T) => string
}

/** The form that changes an entity's code: checked, never over what others saved. */
export const codeForm = <T extends { readonly id: string }>(
  { context, stored, load, patch }: EntityPage<T>,
  options: {
    readonly members: readonly CodeMember<T>[]
    readonly check: '/proxies/check-code' | '/reactors/check-code'
    readonly permission: string
    /** A merge patch, or the body of a check, of codes by place. */
    readonly patchOf: (codes: ReadonlyMap<string, string>) => object
    /** Controls below the editors, and whether they were changed. */
    readonly more?: {
      view(editors: readonly StoredCode[]): TemplateResult | typeof nothing
      isChanged(): boolean
      reset(): void
    }
  },
): (() => TemplateResult) => {
  const { members, more } = options
  const editors = members.map(({ place, label, codeOf }) => ({
    place,
    codeOf,
    code: storedCode(
      { id: `${stored.peek().id}-${place}`, label },
      () => codeOf(stored.value),
      context.signal,
    ),
  }))
  const codes = editors.map(({ code }) => code)
  const isChanged = computed(() => codes.some((code) => code.isChanged.value) || more?.isChanged() === true)
  const check = codeCheck({
    ...context,
    path: options.check,
    body: () => {
      const texts = editors.map(({ place, code }) => [place, code.text.value] as const)
      const some = new Map(texts.filter(([, text]) => text !== ''))
      return some.size === 0 ? undefined : options.patchOf(some)
    },
  })
  const saveCode = async (): Promise<void> => {
    const changed = editors.filter(({ code }) => code.isChanged.peek())
    const send = async () => {
      await patch(options.patchOf(new Map(changed.map(({ place, code }) => [place, code.value()]))))
      return true
    }
    const isSaved =
      changed.length === 0
        ? await send()
        : await saveLatest({
            read: load,
            part: (now) => changed.map(({ codeOf }) => codeOf(now)),
            confirmedPart: changed.map(({ code }) => code.base()),
            ask: (now) => confirmOverwrite(changed.map(({ code, codeOf }) => ({ code, now: codeOf(now) }))),
            save: send,
          })
    if (isSaved === undefined) return
    more?.reset()
    notice('done', 'Code saved. It runs from the next call on.')
  }
  const save = action(() => check.save(saveCode))
  const discard = () => {
    for (const code of codes) code.discard()
    more?.reset()
  }
  return () => {
    const isReadonly = !may(options.permission)
    const error = save.error.value
    return html`
      ${formProblem(
        error,
        members.map(({ place }) => place),
      )}
      <form @submit=${save.run}>
        ${editors.map(({ place, code }) =>
          code.view({ problems: check.problems(place), error: issue(error, place), readonly: isReadonly }),
        )}
        ${more?.view(codes) ?? nothing}
        ${
          isReadonly
            ? nothing
            : html`<div class="buttons">
                <button class="primary" ?disabled=${!isChanged.value || save.busy.value}>Save code</button>
                ${
                  isChanged.value
                    ? html`${button('Discard changes', discard)} <span class="soft">Not saved yet</span>`
                    : nothing
                }
              </div>`
        }
      </form>
    `
  }
}
