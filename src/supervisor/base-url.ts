import type { ListenAddress } from '../config.ts'

/** Hosts that listen at all addresses, and those at which programs of this machine reach them. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** The host at which programs of this machine reach a listener. */
export const localHost = (host: string): string => LOOPBACK[host] ?? host

/** The URL of a listener for programs of this machine. */
export const baseUrl = ({ host: listening, port }: ListenAddress, tls: boolean): string => {
  const host = localHost(listening)
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
