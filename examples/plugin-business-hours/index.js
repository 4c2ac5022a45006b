import { definePlugin, Type } from 'sidevault/sdk'

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

const Hours = Type.Object(
  {
    days: Type.Array(Type.Enum(DAYS), { default: DAYS.slice(1, 6) }),
    from: Type.Integer({ minimum: 0, maximum: 24, default: 9 }),
    /** The hour from which on no call is allowed. */
    to: Type.Integer({ minimum: 0, maximum: 24, default: 17 }),
  },
  { additionalProperties: false },
)

/**
 * Denies calls of `/proxy` outside the hours of their application. Configured by SIDEVAULT_PLUGIN_CONFIG, e.g.
 * {"business-hours":{"time_zone":"Europe/Berlin","applications":{"Call centre":{"from":8,"to":20}}}}; other
 * applications may call at any time.
 */
export const plugin = definePlugin({
  api: 1,
  name: 'business-hours',
  version: '1.0.0',
  config: Type.Object({
    time_zone: Type.String({ default: 'UTC' }),
    applications: Type.Record(Type.String(), Hours, { default: {} }),
  }),
  setup: ({ config: { time_zone: timeZone, applications }, clock }) => {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      weekday: 'short',
      hour: 'numeric',
      hourCycle: 'h23',
    })
    const byName = new Map(Object.entries(applications))
    return {
      checks: [
        {
          name: 'business-hours',
          on: 'request',
          fail: 'closed',
          async handle({ application }) {
            const hours = byName.get(application?.name)
            if (hours === undefined) return undefined
            const { days, from, to } = hours
            const parts = format.formatToParts(clock.now()).map(({ type, value }) => [type, value])
            const { weekday, hour } = Object.fromEntries(parts)
            if (days.includes(weekday) && Number(hour) >= from && Number(hour) < to) return undefined
            const detail = `Calls are allowed on ${days.join(', ')}, ${from} to ${to} o'clock (${timeZone}).`
            return { deny: { code: 'outside_hours', detail } }
          },
        },
      ],
    }
  },
})
