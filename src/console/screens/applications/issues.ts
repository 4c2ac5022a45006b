import type { ApiError } from '../../api/client.ts'

const SHOWN =
  /^(name|permissions|expires_at|(rules\[\d+\]\.)?destinations(\[\d+\]\.(host|ports|methods|path|surfaces))?|rules\[\d+\]\.(description|container|transform|permissions|priority))(\[\d+\])?$/

/** Members whose sentences stand at a field of the form of an application. */
export const shownPlaces = (error: ApiError | undefined): readonly string[] =>
  Object.keys(error?.issues ?? {}).filter((place) => SHOWN.test(place))

/** Sentences about a member and the items of its list. */
export const issuesAt = (error: ApiError | undefined, place: string): string | undefined => {
  const sentences = Object.entries(error?.issues ?? {})
    .filter(
      ([at]) => at === place || (at.startsWith(`${place}[`) && /^\[\d+\]$/.test(at.slice(place.length))),
    )
    .flatMap(([, found]) => found)
  return sentences.length === 0 ? undefined : [...new Set(sentences)].join(' ')
}
