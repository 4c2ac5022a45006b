import { createHash } from 'crypto';
import querystring from 'node:querystring';
const digest = (text) => createHash('sha256').update(text).digest('hex');
export default async function ({ args: { body } }) {
  return { body: { digest: digest(body.text), form: querystring.stringify(body) }, headers: {} };
}
