const crypto = require('crypto');
const encode = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());
module.exports = async ({ args, configuration }) => {
  const oauth = { oauth_consumer_key: 'key', oauth_nonce: 'n0', oauth_signature_method: 'HMAC-SHA1', oauth_timestamp: '1700000000', oauth_token: 'token', oauth_version: '1.0' };
  const all = { ...oauth, ...args.body, ...Object.fromEntries(new URLSearchParams(args.query)) };
  const parameters = Object.keys(all).sort().map((name) => `${encode(name)}=${encode(all[name])}`).join('&');
  const base = [args.method, encode('https://api.test' + args.path), encode(parameters)].join('&');
  oauth.oauth_signature = crypto.createHmac('sha1', `${encode(configuration.SECRET)}&${encode('other')}`).update(base).digest('base64');
  return { body: args.body, headers: { base, Authorization: 'OAuth ' + Object.entries(oauth).map(([name, value]) => `${name}="${encode(value)}"`).join(', ') } };
};
