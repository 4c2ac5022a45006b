const crypto = require('crypto');
const hash = (text) => crypto.createHash('sha256').update(text, 'utf8').digest('hex');
const hmac = (key, text) => crypto.createHmac('sha256', key).update(text, 'utf8').digest();
module.exports = async ({ args, configuration }) => {
  const date = '20300102T030405Z';
  const body = JSON.stringify(args.body);
  const canonical = ['POST', args.path, args.query.slice(1), `host:api.test\nx-amz-date:${date}\n`, 'host;x-amz-date', hash(body)].join('\n');
  const scope = `${date.slice(0, 8)}/us-east-1/execute-api/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', date, scope, hash(canonical)].join('\n');
  const key = scope.split('/').reduce((secret, part) => hmac(secret, part), 'AWS4' + configuration.SECRET);
  return { body: args.body, headers: { 'x-amz-date': date, Authorization: hmac(key, toSign).toString('hex') } };
};
