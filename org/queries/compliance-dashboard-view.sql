-- One row for each subnet and day: the compliance of s3express-no-nat-path alone.
-- Run it in Athena, in the database of AWS's Config Resource Compliance Dashboard (cid_crcd_database).
CREATE OR REPLACE VIEW express_path_subnets AS
SELECT DISTINCT
    items.item.awsaccountid AS account_id,
    items.item.awsregion AS region,
    json_extract_scalar(items.item.configuration, '$.targetResourceId') AS subnet_id,
    json_extract_scalar(rules.rule, '$.complianceType') AS compliance,
    CAST(date_parse(dt, '%Y-%m-%d') AS date) AS day
FROM cid_crcd_config
CROSS JOIN UNNEST(configurationitems) AS items (item)
CROSS JOIN UNNEST(CAST(json_extract(items.item.configuration, '$.configRuleList') AS array(json))) AS rules (rule)
WHERE items.item.resourcetype = 'AWS::Config::ResourceCompliance'
    AND json_extract_scalar(items.item.configuration, '$.targetResourceType') = 'AWS::EC2::Subnet'
    AND json_extract_scalar(rules.rule, '$.configRuleName') = 's3express-no-nat-path'
    AND datasource = 'ConfigSnapshot'
