/** Sets of addresses as CIDR blocks. Computed with integers, so that subtraction is exact. */
import ipaddr from 'ipaddr.js'
import type { Cidr } from '../common/cidr.ts'

interface Block {
  readonly bits: 32 | 128
  readonly first: bigint
  readonly prefixLength: number
}

const toInteger = (bytes: readonly number[]): bigint =>
  bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)

const toAddress = ({ bits, first }: Block): string => {
  const bytes: number[] = []
  for (let shift = bits - 8; shift >= 0; shift -= 8) bytes.push(Number((first >> BigInt(shift)) & 0xffn))
  return ipaddr.fromByteArray(bytes).toString()
}

const toBlock = ({ address, prefixLength }: Cidr): Block => {
  const bytes = ipaddr.parse(address).toByteArray()
  const bits = bytes.length === 4 ? 32 : 128
  const host = BigInt(bits - prefixLength)
  return { bits, first: (toInteger(bytes) >> host) << host, prefixLength }
}

const contains = (outer: Block, inner: Block): boolean => {
  if (outer.bits !== inner.bits || outer.prefixLength > inner.prefixLength) return false
  const host = BigInt(outer.bits - outer.prefixLength)
  return outer.first >> host === inner.first >> host
}

const halves = ({ bits, first, prefixLength }: Block): readonly [Block, Block] => {
  const half = 1n << BigInt(bits - prefixLength - 1)
  const next = prefixLength + 1
  return [
    { bits, first, prefixLength: next },
    { bits, first: first + half, prefixLength: next },
  ]
}

const subtractOne = (block: Block, hole: Block): Block[] => {
  if (contains(hole, block)) return []
  if (!contains(block, hole)) return [block]
  return halves(block).flatMap((half) => subtractOne(half, hole))
}

/** `blocks` without the addresses of `holes`, as few blocks as possible. */
export const subtract = (blocks: readonly Cidr[], holes: readonly Cidr[]): Cidr[] => {
  let left = blocks.map(toBlock)
  for (const hole of holes.map(toBlock)) left = left.flatMap((block) => subtractOne(block, hole))
  return left.map((block) => ({ address: toAddress(block), prefixLength: block.prefixLength }))
}

/** True if one of the blocks contains the address. An IPv4-mapped IPv6 address differs from its IPv4 address. */
export const holds = (blocks: readonly Cidr[], address: string): boolean => {
  const bits = ipaddr.parse(address).kind() === 'ipv4' ? 32 : 128
  const single = toBlock({ address, prefixLength: bits })
  return blocks.some((block) => contains(toBlock(block), single))
}
