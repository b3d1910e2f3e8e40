/** Both of GigaChat's hosts answer 403 to a request without one; any value passes. */
export const USER_AGENT = 'theloop'
