import { createHmac } from 'node:crypto'
import { checkExamples, checkRejections } from './table.ts'

const bytes = (algorithm: string, key: string, text: string) =>
  createHmac(algorithm, key).update(text).digest()

checkExamples([
  // RFC 4231, test case 2
  [
    'what do ya want for nothing?',
    "| hmac: 'sha-256', 'Jefe' | to_base16",
    '5BDCC146BF60754E6A042426089575C75A003F089D2739839DEC58B964EC3843',
  ],
  ['what do ya want for nothing?', "| hmac: 'SHA512', 'Jefe' | to_base16 | slice: 0, 16", '164B7A7BFCF819E2'],
  [
    '4242424242424242',
    "| hmac: 'sha-256', 'secretKeyValue' | to_base16",
    '90A0050E90515101DCAD0F68955370CCA81F6DCB9D299E7E0585CC9746716D9B',
  ],
  ['a', "| hmac: 'sha-256', 'k' | to_base64", bytes('sha256', 'k', 'a').toString('base64')],
  ['a', "| hmac: 'sha1', 'k'", bytes('sha1', 'k', 'a').toString('base64')],
  ['a', "| hmac: 'sha-384', 'k' | upcase", bytes('sha384', 'k', 'a').toString('base64').toUpperCase()],
  ['a', "| hmac: nil, 'k' | to_base16", bytes('sha256', 'k', 'a').toString('hex').toUpperCase()],
  ['héllo', '| to_base64', 'aMOpbGxv'],
  ['héllo', '| to_base16', '68C3A96C6C6F'],
  [null, "| hmac: 'sha-256', 'k' | to_base16", null],
])

checkRejections([
  ['4242424242424242', '| hmac'],
  ['4242424242424242', "| hmac: 'sha-256'"],
  ['4242424242424242', "| hmac: 'sha-256', ''"],
  ['4242424242424242', "| hmac: 'md5', 'k'"],
  ['4242424242424242', "| hmac: 'constructor', 'k'"],
  [{ a: 1 }, '| to_base64'],
])
