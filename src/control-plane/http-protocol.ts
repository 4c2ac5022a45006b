const PROTOCOL = 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions'

/** `typed_extension_protocol_options` of a cluster with these `HttpProtocolOptions`. */
export const httpProtocol = (options: object) => ({
  'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': { '@type': PROTOCOL, ...options },
})
