const { webcrypto } = require('crypto');
module.exports = async ({ args: { body } }) => {
  const bytes = (text) => new TextEncoder().encode(text);
  const base = await webcrypto.subtle.importKey('raw', bytes(body.password), 'PBKDF2', false, ['deriveKey']);
  const key = await webcrypto.subtle.deriveKey({ name: 'PBKDF2', salt: bytes('salt'), iterations: 100, hash: 'SHA-256' }, base, { name: 'AES-GCM', length: 256 }, true, ['encrypt', 'decrypt']);
  const iv = new Uint8Array(12);
  const sealed = await webcrypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, bytes(body.text));
  const opened = await webcrypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, sealed);
  return { body: { sealed: Buffer.from(sealed).toString('base64'), opened: new TextDecoder().decode(opened), key: Buffer.from(await webcrypto.subtle.exportKey('raw', key)).toString('hex') }, headers: {} };
};
