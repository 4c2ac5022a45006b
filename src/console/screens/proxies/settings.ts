import { checkbox } from '../../kit/checkbox.ts'
import { entityChoice } from '../../kit/entity-choice.ts'
import { action, field, formProblem, issue } from '../../kit/form.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import { notice } from '../../kit/notice.ts'
import { may } from '../../session.ts'
import type { ProxyPage, StoredProxy } from './types.ts'

/** `body, header:authorization` → its parts. */
export const surfacesOf = (text: string): readonly string[] =>
  text
    .split(/[,\n]/)
    .map((one) => one.trim())
    .filter((one) => one !== '')

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
  }
  const before = {
    ...proxy,
    application: proxy.application_id === undefined ? null : { id: proxy.application_id },
  }
  const changes = Object.entries(next).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof typeof next]),
  )
  return changes.length === 0 ? undefined : Object.fromEntries(changes)
}

const PLACES = ['name', 'destination_url', 'application.id', 'evaluate', 'intercept']

/** The form of a proxy's settings. */
export const settingsSection = ({ context, proxy, patch }: ProxyPage): (() => TemplateResult) => {
  const { api, signal } = context
  const applications = entityChoice({
    api,
    path: '/applications',
    query: { type: ['private', 'public'] },
    allowed: may('application:read'),
    signal,
  })
  let form: HTMLFormElement | undefined
  const save = action(async () => {
    const changes = form && settingsPatch(proxy.peek(), new FormData(form))
    if (changes === undefined) return notice('info', 'Nothing was changed.')
    await patch(changes)
    notice('done', 'Settings saved. They hold from the next request on.')
  })
  const box = (name: 'require_auth' | 'intercept', label: string, hint: string) =>
    checkbox({ name, label, hint, checked: proxy.value[name], error: issue(save.error.value, name) })
  return () => {
    const { name, destination_url, application_id, evaluate } = proxy.value
    const error = save.error.value
    return html`
      ${formProblem(error, PLACES)}
      <form
        class="form"
        @submit=${(event: Event) => {
          form = event.currentTarget as HTMLFormElement
          void save.run(event)
        }}
      >
        <fieldset class="bare" ?disabled=${!may('proxy:update')}>
          ${field({
            label: 'Name',
            error: issue(error, 'name'),
            control: html`<input name="name" required maxlength="200" autocomplete="off" .value=${name} />`,
          })}
          ${field({
            label: 'Destination URL',
            error: issue(error, 'destination_url'),
            control: html`<input name="destination_url" required autocomplete="off" .value=${destination_url} />`,
          })}
          ${box('require_auth', 'Callers need an API key', 'Without one, anybody with the proxy key can call it.')}
          ${box('intercept', 'Intercept in the forward proxy', 'Requests to this host and path are handled as calls of this proxy.')}
          ${field({
            label: 'Expressions count in',
            hint: 'Separated by commas: body, path, header:authorization, query:key. Empty: nowhere.',
            error: issue(error, 'evaluate'),
            control: html`<input name="evaluate" autocomplete="off" spellcheck="false" .value=${evaluate.join(', ')} />`,
          })}
          ${field({
            label: 'Application',
            hint: 'Its code acts as this application, and so do anonymous callers.',
            error: issue(error, 'application.id'),
            control: applications.control({ name: 'application', chosen: application_id, none: 'None' }),
          })}
          ${
            may('proxy:update')
              ? html`<div class="buttons">
                  <button class="primary" ?disabled=${save.busy.value}>Save settings</button>
                </div>`
              : html`<p class="soft">Your key may not change proxies.</p>`
          }
        </fieldset>
      </form>
    `
  }
}
