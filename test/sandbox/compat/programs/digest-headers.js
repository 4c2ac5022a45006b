var crypto = require('crypto');
exports.default = async function (req) {
  var text = JSON.stringify(req.args.body);
  return {
    body: req.args.body,
    headers: {
      'Content-MD5': crypto.createHash('md5').update(text).digest('base64'),
      Digest: 'SHA-512=' + crypto.createHash('sha512').update(Buffer.from(text)).digest('base64'),
      'Content-Length': String(Buffer.byteLength(text)),
    },
  };
};
