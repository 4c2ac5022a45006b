/** The member that holds all sealed members of a stored record, as base64; no schema can name it. */
export const SEALED_MEMBER = '$sealed'
