import { AppError, type Caller, invalid, type PluginContext, type Static } from '#sdk'
import { type EventTypes, nearestOf } from './event-types.ts'
import type { WebhookInput } from './schemas.ts'

/** Who may grant applications to read tokens may let a webhook read their metadata. */
const ADMINISTRATOR = ['application:create', 'application:read', 'application:update', 'application:delete']

/** Text that an error may repeat: no key and no value is one. */
const TYPE = /^[a-z][a-z_.:-]{0,99}$/

const checkUrl = (context: Pick<PluginContext, 'checkDestination'>, url: string): void => {
  if (!/^https:\/\//i.test(url)) throw invalid({ url: ['must start with https://'] })
  try {
    context.checkDestination(url)
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.status >= 500) throw thrown
    throw invalid({ url: [thrown.message] })
  }
}

const checkEvents = (events: readonly string[], types: EventTypes): void => {
  const all = types.all()
  const issues = events.flatMap((type, index) => {
    if (all.includes(type)) return []
    const sent = TYPE.test(type) ? `"${type}"` : 'what was sent'
    const nearest = nearestOf(type, all)
    return [[`events[${index}]`, [`${sent} is not an event type; the nearest is "${nearest}"`]] as const]
  })
  if (issues.length > 0) throw invalid(Object.fromEntries(issues))
}

const checkMetadata = async (context: PluginContext, { tenantId, grants }: Caller): Promise<void> => {
  if (ADMINISTRATOR.every((permission) => grants.permissions.includes(permission))) return
  const tenant = await context.tenants.get(tenantId)
  if (tenant?.settings.grants_within_own === 'false') return
  throw new AppError(
    'forbidden',
    `Metadata of tokens in events needs a caller that holds ${ADMINISTRATOR.join(', ')}. Use the key of such an application, or leave out "include_metadata".`,
  )
}

/** The members of a valid request. `includesMetadata`: it does already. Throws `invalid`, `forbidden`. */
export const parseWebhook = async (
  context: PluginContext,
  types: EventTypes,
  caller: Caller,
  input: Static<typeof WebhookInput>,
  includesMetadata = false,
) => {
  const { name, url, events, include_metadata } = input
  checkUrl(context, url)
  checkEvents(events, types)
  if (include_metadata && !includesMetadata) await checkMetadata(context, caller)
  return { name, url, events: [...new Set(events)], include_metadata: include_metadata ?? false }
}
