import type { Registry } from '../../kernel/types.ts'
import { docsRoutes } from '../docs/routes.ts'
import { JSON_TYPE } from '../http/problem.ts'
import type { OwnRoute } from '../http/types.ts'
import { withNamedSchemas } from './component-schemas.ts'
import { openApi } from './document.ts'

const once = <T>(make: () => T): (() => T) => {
  let created: { readonly value: T } | undefined
  return () => {
    created ??= { value: make() }
    return created.value
  }
}

/** The JSON Schema of the configuration file. */
const schemaRoute = (schema: object): OwnRoute => ({
  path: '/docs/config.schema.json',
  name: 'docs',
  handler: async (_request, reply) => reply.type('application/schema+json').send(JSON.stringify(schema)),
})

/**
 * `/openapi.json` and `/docs`, created once, when first asked for: the registry does not change while the service runs.
 */
export const documentationRoutes = (
  registry: Pick<Registry, 'operations' | 'tokenTypes'>,
  options: { readonly prefix: string; readonly version: string; readonly configSchema?: object | undefined },
): readonly OwnRoute[] => {
  const document = once(() => openApi(registry, options))
  const json = once(() => JSON.stringify(withNamedSchemas(document())))
  return [
    {
      path: '/openapi.json',
      name: 'openapi',
      handler: async (_request, reply) => reply.type(JSON_TYPE).send(json()),
    },
    ...(options.configSchema === undefined ? [] : [schemaRoute(options.configSchema)]),
    ...docsRoutes(document),
  ]
}
