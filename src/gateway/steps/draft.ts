import { withDraftCode } from '../dry-run/draft-code.ts'
import type { Identified } from '../request.ts'
import type { Step } from '../steps.ts'

/** Dry runs try code that is not saved yet. Throws `malformed`. */
export const draft: Step<Identified, Identified> = (request, { gateway }) =>
  request.dryRun
    ? { ...request, proxy: withDraftCode(request.proxy, request.head, gateway.prefixes) }
    : request
