import type { FieldIssue } from '../common/errors.ts'
import { parseDestinationList } from '../egress/destination-list.ts'
import type { AllowedDestinationInput, DestinationList } from '../sdk/index.ts'

/** The member `destinations` in stored form, if it was sent; issues are added with their paths under `at`. */
export const destinationsOf = (
  inputs: readonly AllowedDestinationInput[] | null | undefined,
  at: string,
  issues: FieldIssue[],
): { readonly destinations?: DestinationList } => {
  if (!inputs) return {}
  const issue = (path: string, sentence: string) => issues.push([`${at}${path}`, sentence])
  return { destinations: parseDestinationList(inputs, issue) }
}
