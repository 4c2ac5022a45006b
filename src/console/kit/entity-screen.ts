import { path } from '../api/client.ts'
import { may } from '../session.ts'
import { button } from './button.ts'
import { copyable } from './copy.ts'
import { deletion } from './deletion.ts'
import { type FormOptions, form, formAction, formProblem } from './form.ts'
import { html, nothing, type TemplateResult } from './html.ts'
import { notice } from './notice.ts'
import { resource, show } from './resource.ts'
import type { Screen, ScreenContext } from './screen.ts'
import { type Fact, facts, section } from './section.ts'
import { type ReadonlySignal, signal } from './signals.ts'
import { snippet } from './snippet.ts'
import { relativeTime } from './time.ts'

interface Entity {
  readonly id: string
  readonly name: string
  readonly created_at?: string
  readonly modified_at?: string
}

/** The entity that a page shows, for the sections of the page. */
export interface EntityPage<T> {
  readonly context: ScreenContext
  /** The entity as it was loaded last. */
  readonly stored: ReadonlySignal<T>
  /** Path of the entity in the API: `/proxies/<id>`. */
  readonly path: string
  /** Loads the entity as it is stored now. The page stays as it is. */
  load(): Promise<T>
  /** Shows what a save returned. */
  show(saved: T): void
  /** Merges changes (RFC 7386) into the stored entity, and loads it. */
  patch(changes: object): Promise<void>
}

interface EntityView {
  /** Facts besides its id and times. */
  facts(): readonly Fact[]
  /** The call that it is made for, as a program. */
  readonly call?: TemplateResult
  /** Sections of the page by their titles. */
  readonly sections: Readonly<Record<string, (() => TemplateResult) | undefined>>
}

const entityFacts = ({ id, created_at, modified_at }: Entity, view: EntityView): TemplateResult =>
  facts([
    ...view.facts(),
    ['Id', copyable(id)],
    ['Created', relativeTime(created_at)],
    ['Changed', modified_at && relativeTime(modified_at)],
  ])

/** The page of one entity: its facts, its sections, and a button that deletes it once its name was typed. */
export const entityScreen = <T extends Entity>(options: {
  /** Name of the kind of entity: `Proxy`. */
  readonly what: string
  /** Path of the collection in the API: `/proxies`. */
  readonly api: string
  /** Path of the list in the hash: `/proxies`. */
  readonly screen: string
  /** Resource of its permissions: `proxy`. */
  readonly permission: string
  /** Consequences of a deletion, as the dialog states them. */
  readonly deletionText: string
  readonly actions?: (id: string) => TemplateResult | typeof nothing
  readonly open: (page: EntityPage<T>) => EntityView
}): Screen => ({
  path: `${options.screen}/:id`,
  title: options.what,
  needs: (may) => may(`${options.permission}:read`),
  open: (context) => {
    const { api, params, signal: within, title } = context
    const { id = '' } = params
    const where = options.api + path`/${id}`
    const load = () => api.call<T>('GET', where, { signal: within })
    const loaded = resource(async () => {
      const stored = signal(await load())
      const show = (saved: T) => {
        stored.value = saved
        title(saved.name)
      }
      show(stored.peek())
      const patch = async (changes: object) => {
        await api.call('PATCH', where, { body: changes })
        show(await load())
      }
      return { stored, view: options.open({ context, stored, path: where, load, show, patch }) }
    }, within)
    const remove = deletion(context, {
      what: options.what,
      path: where,
      back: `#${options.screen}`,
      body: options.deletionText,
      entity: () => loaded.value.peek()?.stored.peek(),
    })
    return {
      actions: () =>
        loaded.value.value === undefined
          ? html``
          : html`${options.actions?.(id) ?? nothing}
              ${
                may(`${options.permission}:delete`)
                  ? button('Delete', remove.run, { kind: 'danger', disabled: remove.busy.value })
                  : nothing
              }`,
      view: () =>
        html`${formProblem(remove.error.value)}
        ${show(
          loaded,
          ({ stored, view }) => html`<div class="sections">
            <div>
              ${entityFacts(stored.value, view)}
              <div class="buttons">
                ${view.call === undefined ? nothing : html`<span class="soft">A call of it</span> ${view.call}`}
                <span class="soft">This ${options.what.toLowerCase()} in the API</span> ${snippet('GET', where)}
              </div>
            </div>
            ${Object.entries(view.sections).map(([title, body]) =>
              body === undefined ? nothing : section(title.toLowerCase(), title, body()),
            )}
          </div>`,
        )}`,
    }
  },
})

/** The form of an entity's members: sends what `changes` finds in it, undefined for nothing. */
export const settingsForm = <T>(
  { patch }: Pick<EntityPage<T>, 'patch'>,
  options: {
    readonly permission: string
    readonly changes: (data: FormData) => object | undefined
    readonly done: string
    readonly view: () => Pick<FormOptions, 'fields' | 'values' | 'more' | 'places'>
  },
): (() => TemplateResult) => {
  const save = formAction(async (data) => {
    const changes = options.changes(data)
    if (changes === undefined) return notice('info', 'Nothing was changed.')
    await patch(changes)
    notice('done', options.done)
  })
  return () =>
    form({ action: save, submit: 'Save settings', isAllowed: may(options.permission), ...options.view() })
}
