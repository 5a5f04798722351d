DROP TABLE hook_contacts;
