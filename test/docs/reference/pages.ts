import { auditFormat } from './audit-format.ts'
import { cli } from './cli.ts'
import { configuration } from './configuration.ts'
import { errors } from './errors.ts'
import { expressions } from './expressions.ts'
import { limits } from './limits.ts'
import type { Page } from './markdown.ts'
import { metrics } from './metrics.ts'
import { permissions } from './permissions.ts'
import { sdk } from './sdk.ts'
import { webhookEvents } from './webhook-events.ts'

/** The pages of docs/reference/. `npm run docs` writes them, reference.test.ts compares them. */
export const pages: readonly Page[] = [
  configuration,
  cli,
  errors,
  metrics,
  permissions,
  limits,
  expressions,
  auditFormat,
  webhookEvents,
  sdk,
]
