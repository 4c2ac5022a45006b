import type { StoredProxy, Transforms } from './types.ts'

/** `body, header:authorization` → its parts. */
const surfacesOf = (text: string): readonly string[] =>
  text
    .split(/[,\n]/)
    .map((surface) => surface.trim())
    .filter((surface) => surface !== '')

/** The members that a form changes, as a merge patch; undefined when there is none. */
export const settingsPatch = (proxy: StoredProxy, form: FormData): object | undefined => {
  const text = (name: string) => String(form.get(name) ?? '')
  const application = text('application').trim()
  const next = {
    name: text('name'),
    destination_url: text('destination_url'),
    require_auth: form.has('require_auth'),
    intercept: form.has('intercept'),
    evaluate: surfacesOf(text('evaluate')),
    application: application === '' ? null : { id: application },
    response_guard: text('response_guard') || null,
  }
  const before = {
    ...proxy,
    application: proxy.application_id === undefined ? null : { id: proxy.application_id },
    response_guard: proxy.response_guard ?? null,
  }
  const changes = Object.entries(next).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof typeof next]),
  )
  return changes.length === 0 ? undefined : Object.fromEntries(changes)
}

/** The merge patch that gives a proxy the transforms of `version`. */
export const restorePatch = (current: Transforms, version: Transforms): object => ({
  request_transform: version.request_transform ?? null,
  response_transform:
    version.response_transform === undefined
      ? null
      : {
          ...version.response_transform,
          // A merge patch would leave the current one; no value is the default.
          ...(version.response_transform.otherwise === undefined &&
          current.response_transform?.otherwise !== undefined
            ? { otherwise: 'fail' }
            : {}),
        },
})
