const letters = (text) => text.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
module.exports = async ({ args: { body } }) => {
  const checked = body.ibans.map((given) => {
    const iban = given.replace(/\s/g, '').toUpperCase();
    return { iban, valid: BigInt(letters(iban.slice(4) + iban.slice(0, 4))) % 97n === 1n, check: String(98n - (BigInt(letters(iban.slice(4) + iban.slice(0, 2) + '00')) % 97n)).padStart(2, '0') };
  });
  const xml = `<Document>${checked.map(({ iban, valid }, index) => `<CdtTrfTxInf><PmtId><EndToEndId>${index + 1}</EndToEndId></PmtId><InstdAmt Ccy="EUR">${(body.cents[index] / 100).toFixed(2)}</InstdAmt><IBAN ok="${valid}">${iban}</IBAN></CdtTrfTxInf>`).join('')}</Document>`;
  return { body: { checked, xml, bytes: Buffer.byteLength(xml) }, headers: { 'content-type': 'application/json' } };
};
