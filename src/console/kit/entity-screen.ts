import { path } from '../api/client.ts'
import { may } from '../session.ts'
import { deletion } from './deletion.ts'
import { html, nothing, type TemplateResult } from './html.ts'
import { problem } from './problem.ts'
import { resource, show } from './resource.ts'
import type { Screen, ScreenContext } from './screen.ts'
import { type ReadonlySignal, signal } from './signals.ts'

interface Named {
  readonly id: string
  readonly name: string
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

/** The page of one entity: its sections, and a button that deletes it once its name was typed. */
export const entityScreen = <T extends Named>(options: {
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
  readonly sections: (page: EntityPage<T>) => () => TemplateResult
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
      return { stored, view: options.sections({ context, stored, path: where, load, show, patch }) }
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
                  ? html`<button type="button" class="danger" ?disabled=${remove.busy.value} @click=${remove.run}>
                      Delete
                    </button>`
                  : nothing
              }`,
      view: () =>
        html`${remove.error.value === undefined ? nothing : problem(remove.error.value)}
        ${show(loaded, ({ view }) => html`<div class="sections">${view()}</div>`)}`,
    }
  },
})
