/** Activities of API Activity. A use opens a value for code or a destination, as a read does for a caller. */
const ACTIVITIES = new Map([
  ['create', { id: 1, name: 'Create' }],
  ['read', { id: 2, name: 'Read' }],
  ['use', { id: 2, name: 'Read' }],
  ['update', { id: 3, name: 'Update' }],
  ['delete', { id: 4, name: 'Delete' }],
])

const CLASS = 6003

const actorOf = ({ actor_id: uid, actor_type: type }) => {
  if (uid === null) return { app_name: type ?? 'anonymous' }
  if (type === 'user' || type === 'session') return { [type]: { uid } }
  return { app_uid: uid }
}

/**
 * The audit record as an event of OCSF 1.8.0, class API Activity. Its `metadata.uid` is that of the record, whenever
 * and however often it is sent. Only the members below are sent.
 * @param {import('sidevault/sdk').LogEntry} record
 */
export const eventOf = (record) => {
  const { position, tenant_id, trace_id, entity_type, entity_id, operation, disclosure, surfaces, labels } =
    record
  const activity = ACTIVITIES.get(operation) ?? { id: 99, name: operation }
  return {
    category_uid: 6,
    category_name: 'Application Activity',
    class_uid: CLASS,
    class_name: 'API Activity',
    activity_id: activity.id,
    activity_name: activity.name,
    type_uid: CLASS * 100 + activity.id,
    severity_id: 1,
    time: record.created_at,
    message: record.message,
    metadata: {
      version: '1.8.0',
      uid: [tenant_id, trace_id, position].join(':'),
      sequence: position,
      tenant_uid: tenant_id,
      correlation_uid: trace_id,
      product: { name: 'Sidevault', vendor_name: 'Sidevault' },
    },
    actor: actorOf(record),
    api: { operation: `${entity_type}.${operation}` },
    // Required by the class; records hold no address.
    src_endpoint: { name: 'unknown' },
    resources: [{ type: entity_type, ...(entity_id === '' ? { name: entity_type } : { uid: entity_id }) }],
    unmapped: { disclosure, surfaces, labels },
  }
}
