/** Member with all sealed members of a stored record, as base64. No schema can declare it. */
export const SEALED_MEMBER = '$sealed'
