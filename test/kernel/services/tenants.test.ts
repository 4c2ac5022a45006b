import t from 'tap'
import type { PluginContext, Tenant } from '../../../src/sdk/index.ts'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'
import { pluginOf } from '../kit.ts'

t.test('all() has each tenant that exists, oldest first, with its settings', async (t) => {
  let context: PluginContext | undefined
  const setup = (given: PluginContext) => {
    context = given
    return {}
  }
  const service = await startTestService(t, { openStore: openInThread, plugins: [pluginOf({}, { setup })] })
  const [second, deleted, third] = [
    await service.newTenant('Second'),
    await service.newTenant('Deleted'),
    await service.newTenant('Third'),
  ]
  await context?.tenants.delete(deleted.id)
  const tenants: Tenant[] = []
  for await (const tenant of context!.tenants.all()) tenants.push(tenant)
  t.strictSame(tenants.map(({ id }) => id).sort(), [service.tenantId, second.id, third.id].sort())
  t.match(tenants[0], { name: String, settings: {} })
})
