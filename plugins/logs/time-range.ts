import { parseIsoTime } from '#kit'
import { invalid, Type } from '#sdk'

const time = (field: number, description: string) => Type.Optional(Type.String({ field, description }))

/** Query members of a time range; `what`: what happened then. Their fields are `first` and the next. */
export const timeRangeQuery = (first: number, what: string) => ({
  start_date: time(first, `ISO 8601; ${what} then or later.`),
  end_date: time(first + 1, `ISO 8601; ${what} before then.`),
})

const timeOf = (member: string, text: string | undefined): number | undefined => {
  if (!text) return undefined
  const time = parseIsoTime(text)
  if (time === undefined)
    throw invalid({ [member]: ['must be an ISO 8601 date-time, e.g. 2030-01-31T12:00:00Z'] })
  return time
}

/** Bounds in ms since the epoch; undefined where nothing was sent. Throws `invalid` at the member. */
export const timeRangeOf = ({
  start_date,
  end_date,
}: {
  readonly start_date?: string
  readonly end_date?: string
}): { readonly from: number | undefined; readonly to: number | undefined } => ({
  from: timeOf('start_date', start_date),
  to: timeOf('end_date', end_date),
})
