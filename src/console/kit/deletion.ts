import { confirm, confirmationText } from './dialog.ts'
import { type Action, action } from './form.ts'
import type { TemplateResult } from './html.ts'
import { notice } from './notice.ts'
import type { ScreenContext } from './screen.ts'

/** Deletes an entity after its name was typed, then opens the list at `back`. `what`: `Proxy`. */
export const deletion = (
  { api, navigate }: ScreenContext,
  options: {
    readonly what: string
    readonly path: string
    readonly back: string
    /** Text of the dialog: the consequences of the deletion. A function is called first, and may throw. */
    readonly body: TemplateResult | string | (() => Promise<TemplateResult>)
    readonly entity: () => { readonly id: string; readonly name: string } | undefined
  },
): Action =>
  action(async () => {
    const entity = options.entity()
    if (entity === undefined) return
    const { what, path, back, body } = options
    const isConfirmed = await confirm({
      title: `Delete ${entity.name}?`,
      body: typeof body === 'function' ? await body() : body,
      action: 'Delete',
      danger: true,
      requiredText: confirmationText(entity),
    })
    if (!isConfirmed) return
    await api.call('DELETE', path)
    notice('done', `${what} deleted.`)
    navigate(back)
  })
