const { createCipheriv, createDecipheriv, scryptSync } = require('crypto');
module.exports = async ({ args: { body } }) => {
  const key = scryptSync('password', 'salt', 32, { N: 1024 });
  const iv = Buffer.alloc(12, 7);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: 16 });
  cipher.setAAD(Buffer.from(body.id));
  const sealed = Buffer.concat([cipher.update(body.text, 'utf8'), cipher.final()]);
  const tag = cipher.getAuthTag();
  const open = (aad) => {
    const decipher = createDecipheriv('aes-256-gcm', key, iv);
    decipher.setAAD(Buffer.from(aad));
    decipher.setAuthTag(tag);
    return decipher.update(sealed, undefined, 'utf8') + decipher.final('utf8');
  };
  let forged;
  try {
    forged = open('other');
  } catch (error) {
    forged = error.message;
  }
  return { body: { sealed: sealed.toString('hex'), tag: tag.toString('base64url'), opened: open(body.id), forged }, headers: {} };
};
