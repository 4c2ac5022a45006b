import t from 'tap'
import { parse } from 'yaml'
import {
  configOf,
  environmentOf,
  kubernetes,
  type Manifest,
  manifestsOf,
  roleOf,
  textOf,
} from '../deploy/kit.ts'

const FOLDER = 'examples/mesh'
const FILES = ['by-route.yaml', 'as-https-proxy.yaml', 'istio.yaml', 'side-by-side.yaml']

const trimmed = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .join('\n')

t.test('what the guide shows is in the files, and the README lists them', async (t) => {
  const guide = textOf('docs/guides/mesh.md')
  const blocks = [...guide.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, block = '']) => block)
  t.equal(blocks.length, 3)
  const files = FILES.map((name) => trimmed(textOf(`${FOLDER}/${name}`)))
  for (const block of blocks)
    t.ok(
      files.some((file) => file.includes(trimmed(block))),
      block,
    )
  for (const name of FILES) t.ok(textOf(`${FOLDER}/README.md`).includes(`\`${name}\``), name)
})

t.test("Istio's objects name what the tested Envoy has", async (t) => {
  const [cluster] = parse(textOf(`${FOLDER}/as-https-proxy.yaml`)).static_resources.clusters
  const { address, port_value } =
    cluster.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address
  const { sni, common_tls_context: tls } = cluster.transport_socket.typed_config
  const [entry, rule] = manifestsOf(`${FOLDER}/istio.yaml`)
  t.match(entry, {
    kind: 'ServiceEntry',
    spec: { hosts: [address], resolution: 'DNS', ports: [{ number: port_value, protocol: 'TCP' }] },
  })
  t.match(rule, {
    kind: 'DestinationRule',
    spec: {
      host: address,
      trafficPolicy: {
        portLevelSettings: [
          {
            port: { number: port_value },
            tls: {
              mode: 'SIMPLE',
              sni,
              subjectAltNames: [tls.validation_context.match_typed_subject_alt_names[0].matcher.exact],
              caCertificates: tls.validation_context.trusted_ca.filename,
            },
          },
        ],
      },
    },
  })
})

t.test('the excluded ports are those of a gateway and of what it connects to', async (t) => {
  const { metadata, spec } = parse(textOf(`${FOLDER}/side-by-side.yaml`)).spec.template as Manifest
  const portsOf = (name: string) =>
    metadata.annotations[`traffic.sidecar.istio.io/${name}`].split(',').map(Number)
  const [container] = spec.containers
  t.equal(roleOf(t, container.args), 'gateway')
  const config = configOf(t, environmentOf(container, new Map()))
  const listens = [config.listen, config.forwardListen, config.opsListen].map((address) => address?.port)
  t.strictSame(portsOf('excludeInboundPorts'), listens)
  t.strictSame(
    container.ports.map(({ containerPort }: Manifest) => containerPort),
    listens,
  )
  const connections = kubernetes().secrets.get('sidevault-connections')
  const stores = [connections.store, connections.redis].map((url) => Number(new URL(url).port))
  t.strictSame(portsOf('excludeOutboundPorts'), [443, ...stores])
})
