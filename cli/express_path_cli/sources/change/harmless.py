"""The types of resources that cannot change a path. Whatever is not listed may: a new type of AWS counts as one that does.

A type is listed if its deployment changes no route, association, gateway, attachment, endpoint for S3 Express, or list of
addresses, no tag of another resource, and no instance that may forward traffic. What pipelines, schedules, functions, and
controllers in a cluster do later, with permissions of their own, does not count. Provisioners and custom resources do,
and are judged by those who read them.
"""

import re
from functools import cache

from express_path_cli.sources.change.resource import Arguments, Resource

_SERVICES = """
    accessanalyzer account acm acmpca aiops alb amazonmq amplify amplifyuibuilder api_gateway apigatewayv2
    app_cookie_stickiness_policy appautoscaling appconfig appfabric appflow appintegrations applicationautoscaling
    applicationinsights applicationsignals appmesh apprunner appstream appsync apptest aps arczonalshift athena
    auditmanager autoscaling_launch_configuration b2bi backup backupgateway batch bcm bcmdataexports
    bcmpricingcalculator bedrock bedrockagent bedrockagentcore billing billingconductor braket budgets cases cassandra
    cdk ce certificatemanager chatbot chime chimesdkmediapipelines chimesdkvoice cleanrooms cleanroomsml cloud9
    cloudformation_wait_condition cloudfront cloudfrontkeyvaluestore cloudhsm cloudhsm_v2 cloudsearch cloudtrail
    cloudwatch codeartifact codebuild codecatalyst codecommit codeconnections codedeploy codeguruprofiler
    codegurureviewer codepipeline codestar codestarconnections codestarnotifications cognito comprehend
    computeoptimizer config connect connectcampaigns connectcampaignsv2 costoptimizationhub cur customerprofiles
    databrew dataexchange datapipeline datasync datazone dax db deadline detective devicefarm devopsguru
    directory_service dlm dms docdb docdbelastic drs dsql dynamodb ecr ecrpublic ecs efs eks elastic_beanstalk
    elasticache elasticloadbalancing elasticloadbalancingv2 elasticsearch elastictranscoder elb emr emrcontainers
    emrserverless entityresolution events eventschemas evidently fis forecast frauddetector fsx gamelift glacier
    globalaccelerator glue grafana greengrass greengrassv2 groundstation guardduty healthimaging healthlake iam
    identitystore imagebuilder inspector inspector2 inspectorv2 internetmonitor invoicing iot iotanalytics
    iotcoredeviceadvisor iotfleetwise iotsecuretunneling iotsitewise iotthingsgraph iottwinmaker iotwireless ivs
    ivschat kafkaconnect kendra kendraranking keyspaces kinesis kinesisanalytics kinesisanalyticsv2 kinesisfirehose
    kinesisvideo kms lakeformation lambda lb lex lexv2models licensemanager licensemanagerlinuxsubscriptions
    licensemanagerusersubscriptions lightsail load_balancer location logs lookoutequipment lookoutvision m2 macie
    macie2 managedblockchain media mediaconnect mediaconvert medialive mediapackage mediapackagev2 mediastore
    mediatailor memorydb mpa mq msk mskconnect mwaa mwaaserverless neptune neptunegraph
    networkfirewall_firewall_policy networkfirewall_logging_configuration networkfirewall_resource_policy
    networkfirewall_rule_group networkfirewall_tls_inspection_configuration networkflowmonitor networkmonitor
    notifications notificationscontacts oam observabilityadmin omics opensearch opensearchserverless opensearchservice
    osis panorama paymentcryptography pcaconnectorad pcaconnectorscep pcs personalize pinpoint pinpointemail
    pinpointsmsvoicev2 pipes polly prometheus proxy_protocol_policy qbusiness qldb quicksight rbin rds redshift
    redshiftdata redshiftserverless rekognition resiliencehub resourceexplorer2 resourcegroups robomaker rolesanywhere
    route53 route53domains route53globalresolver route53profiles route53recoverycontrol route53recoverycontrolconfig
    route53recoveryreadiness route53resolver rum s3 s3control s3express s3files s3objectlambda s3outposts s3tables
    s3vectors sagemaker scheduler schemas sdb secretsmanager securityhub securitylake serverless service_discovery
    servicecatalogappregistry servicequotas ses sesv2 sfn shield signer simpledb smsvoice sns sqs ssm ssmcontacts
    ssmguiconnect ssmincidents sso ssoadmin stepfunctions storagegateway supportapp swf synthetics textract timestream
    timestreaminfluxdb timestreamquery timestreamwrite transcribe transfer translate verifiedaccess
    verifiedpermissions voiceid vpclattice waf wafregional wafv2 wellarchitected wickr wisdom worklink workspaces
    workspacesthinclient workspacesweb xray
    """
"""The services of which all types are harmless, besides _TOUCHING: aws_SERVICE_..., awscc_SERVICE_..., and AWS::Service::...

It takes the names of Terraform and of CloudFormation, and some types of other services. Not listed, for example, are
services that deploy stacks (cloudformation, cloudcontrolapi, servicecatalog, serverlessrepo, proton, launchwizard), that
configure networks (ram, fms, directconnect, networkmanager, refactorspaces; policies of organizations and controls of
controltower block public access: https://docs.aws.amazon.com/organizations/latest/userguide/orgs_manage_policies_declarative.html),
or that start instances of which nothing is known (autoscaling, opsworks).
"""
_EC2 = """
    ami availability_zone_group capacity_block_reservation capacity_manager_data_export capacity_reservation
    client_vpn customer_gateway default_credit_specification default_network_acl default_security_group
    default_vpc_dhcp_options dhcp_options ebs eip enclave_certificate_iam_role_association flow_log fpga_image host
    image_block_public_access instance_connect_endpoint instance_event_window instance_metadata_defaults ipam key_pair
    launch_configuration launch_template network_acl network_insights network_interface_permission
    network_interface_sg_attachment network_performance_metric_subscription placement_group security_group
    serial_console_access snapshot spot_datafeed_subscription subnet_cidr_reservation subnet_network_acl_association
    traffic_mirror transit_gateway_metering_policy transit_gateway_multicast verified_access volume vpc_dhcp_options
    vpc_endpoint_connection_notification vpc_endpoint_policy vpc_endpoint_private_dns
    vpc_endpoint_security_group_association vpc_endpoint_service vpc_ipam vpc_ipv6_cidr_block_association
    vpc_network_performance_metric_subscription vpc_peering_connection_accepter vpc_peering_connection_options
    vpc_security_group vpcdhcp_options
    """
"""The types of EC2, without its name, that are harmless.

Traffic to S3 cannot leave through a peering connection, whatever its state and options:
https://docs.aws.amazon.com/vpc/latest/peering/vpc-peering-basics.html. The IPv6 addresses of a VPC are never those of S3,
but its IPv4 addresses may be any.
"""
_TOUCHING = """
    config_conformance_pack config_organization_conformance_pack config_remediation_configuration
    elastic_beanstalk_environment elasticbeanstalk_environment fsx_file_system fsx_ontap_file_system
    fsx_openzfs_file_system ipam_prefix_list_resolver lambda_invocation serverless_application ssm_association
    vpc_ipam_prefix_list_resolver
    """
"""The types of listed services that are not harmless: they run automation at once, deploy any resources, or change routes.

Conformance packs remediate: https://docs.aws.amazon.com/config/latest/developerguide/conformance-packs.html. Environments
of Elastic Beanstalk create what .ebextensions say:
https://docs.aws.amazon.com/elasticbeanstalk/latest/dg/environment-resources.html. FSx adds routes to route tables:
https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemOntapConfiguration.html. A resolver of IPAM writes
prefix lists: https://docs.aws.amazon.com/vpc/latest/ipam/automate-prefix-list-updates.html.
"""
_OTHER_PROVIDERS = """
    acme archive argocd auth0 azuread azurerm cloudflare cloudinit consul datadog dns docker fastly github gitlab
    google grafana helm keycloak kubectl kubernetes launchdarkly local mongodbatlas mysql newrelic nomad null okta
    opsgenie pagerduty postgresql random sentry snowflake sops template terraform time tls vault
    """
"""The providers of Terraform that create nothing in a VPC. terraform is for terraform_data."""


def _prefixes(*texts: str) -> tuple[str, ...]:
    """Return how names of types begin. CloudFormation writes the name of a service in one word."""
    return tuple(f"{form}_" for text in texts for word in text.split() for form in {word, word.replace("_", "")})


_OF_EC2 = _prefixes(_EC2)
_OF_ALL = _prefixes(_SERVICES, _EC2)
_NOT = _prefixes(_TOUCHING)
_WORD = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@cache
def is_harmless(resource_type: str) -> bool:
    """Return whether no resource of a type of Terraform or CloudFormation can change a path."""
    match resource_type.split("::"):
        case ["AWS", service, kind]:
            provider, name = "aws", f"{service}_{_WORD.sub('_', kind)}".lower()
        case _:
            provider, _, name = resource_type.partition("_")
    if provider not in ("aws", "awscc"):
        return provider in _OTHER_PROVIDERS.split()
    allowed = _OF_EC2 if name.startswith("ec2_") else _OF_ALL
    name = f"{name.removeprefix('ec2_')}_"
    return name.startswith(allowed) and not name.startswith(_NOT)


_FILE_SYSTEMS = {
    "aws_fsx_ontap_file_system": "",
    "aws_fsx_openzfs_file_system": "",
    "AWS::FSx::FileSystem": "file_system_type",
    "awscc_fsx_file_system": "file_system_type",
}
"""The types of file systems that may change routes, and the argument that says which kind of one it is."""
_WITHOUT_ROUTES = ("LUSTRE", "WINDOWS")
"""The kinds of file systems that have no route tables:
https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html."""
_DEPLOYMENTS = ("ontap_configuration", "open_zfsconfiguration", "open_zfs_configuration")


def changes_nothing(resource: Resource) -> bool:
    """Return whether a resource of a type that may change a path is one that does not."""
    versions = [arguments for arguments in (resource.before, resource.after) if arguments.values]
    if resource.type in _FILE_SYSTEMS:
        return bool(versions) and all(
            _is_in_one_zone(arguments, _FILE_SYSTEMS[resource.type]) for arguments in versions
        )
    return False


def _is_in_one_zone(arguments: Arguments, kind: str) -> bool:
    """Return whether a file system has no route tables: those of two zones have them."""
    if kind and arguments.text(kind) in _WITHOUT_ROUTES:
        return True
    deployments = [block for name in _DEPLOYMENTS for block in arguments.blocks(name)] if kind else [arguments]
    return bool(deployments) and all(block.text("deployment_type").startswith("SINGLE_AZ") for block in deployments)
